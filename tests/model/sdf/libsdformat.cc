// Prints what libsdformat reads of an SDF, poses resolved in the world of the model:
//   link NAME x y z qw qx qy qz mass com(3) moments(9, about the centre of mass in the axes of the link)
//   frame NAME x y z qw qx qy qz
//   axis NAME NUMBER x y z lower upper effort velocity damping friction
#include <cstdio>
#include <iostream>
#include <sdf/sdf.hh>
#include <string>

using Pose = ignition::math::Pose3d;

static bool failed = false;

template <class Thing> Pose resolved(const Thing *thing) {
  Pose pose;
  for (const auto &error : thing->SemanticPose().Resolve(pose)) {
    std::cerr << error.Message() << "\n";
    failed = true;
  }
  return pose;
}

static void print(const Pose &p) {
  printf(" %.17g %.17g %.17g %.17g %.17g %.17g %.17g", p.X(), p.Y(), p.Z(), p.Rot().W(), p.Rot().X(), p.Rot().Y(),
         p.Rot().Z());
}

static void print(const sdf::Model *model, const Pose &place, const std::string &prefix) {
  for (uint64_t i = 0; i < model->LinkCount(); i++) {
    const auto *link = model->LinkByIndex(i);
    const auto &inertial = link->Inertial();
    const auto center = inertial.Pose().Pos();
    const auto moments = inertial.Moi();
    printf("link %s%s", prefix.c_str(), link->Name().c_str());
    print(place * resolved(link));
    printf(" %.17g %.17g %.17g %.17g", inertial.MassMatrix().Mass(), center.X(), center.Y(), center.Z());
    for (int row = 0; row < 3; row++)
      for (int column = 0; column < 3; column++) printf(" %.17g", moments(row, column));
    printf("\n");
  }
  for (uint64_t i = 0; i < model->FrameCount(); i++) {
    const auto *frame = model->FrameByIndex(i);
    printf("frame %s%s", prefix.c_str(), frame->Name().c_str());
    print(place * resolved(frame));
    printf("\n");
  }
  for (uint64_t i = 0; i < model->JointCount(); i++) {
    const auto *joint = model->JointByIndex(i);
    for (int number = 0; number < 2 && joint->Axis(number); number++) {
      const auto *axis = joint->Axis(number);
      ignition::math::Vector3d direction;
      failed |= !axis->ResolveXyz(direction, "__model__").empty();
      direction = place.Rot() * direction;
      printf("axis %s%s %d %.17g %.17g %.17g", prefix.c_str(), joint->Name().c_str(), number, direction.X(),
             direction.Y(), direction.Z());
      printf(" %.17g %.17g %.17g %.17g %.17g %.17g\n", axis->Lower(), axis->Upper(), axis->Effort(),
             axis->MaxVelocity(), axis->Damping(), axis->Friction());
    }
  }
  for (uint64_t i = 0; i < model->ModelCount(); i++) {
    const auto *nested = model->ModelByIndex(i);
    print(nested, place * resolved(nested), prefix + nested->Name() + "::");
  }
}

int main(int, char **arguments) {
  sdf::Root root;
  for (const auto &error : root.Load(arguments[1])) {
    std::cerr << error.Message() << "\n";
    failed = true;
  }
  if (!root.Model()) return 1;
  print(root.Model(), root.Model()->RawPose(), "");
  return failed;
}
